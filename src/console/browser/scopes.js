// What a memory can belong to, and lists and searches can be limited to.

/** Names of the API, and their labels. @type {["userId" | "agentId" | "sessionId", string][]} */
export const SCOPES = [
  ["userId", "User"],
  ["agentId", "Agent"],
  ["sessionId", "Session"],
];
