// A TCP receiver on loopback that counts connections and sends exactly the bytes that a test specifies.

import { createServer, type Server, type Socket } from "node:net";

/** A receiver that is listening. */
export interface Receiver {
  readonly port: number;
  /** Number of connections accepted so far. */
  connections(): number;
  /** Number of connections that are open now. */
  open(): number;
  /** All bytes received so far, of all connections together. */
  received(): string;
  close(): void;
}

/** Called with a connection once the first bytes of a request, `head`, have arrived. */
export type Respond = (socket: Socket, head: string) => void;

/** Sends an HTTP response with a Content-Length header, then closes the connection. */
export function answering(status: number, headers: readonly string[] = [], body = ""): Respond {
  const head = [`HTTP/1.1 ${status} Status`, ...headers, `Content-Length: ${Buffer.byteLength(body)}`];
  return (socket) => socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}

/** Listens on `address`; port 0 selects a free one. */
export async function listen(respond: Respond, address = "127.0.0.1", port = 0): Promise<Receiver> {
  let connections = 0;
  let received = "";
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    connections++;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    // callers that disconnect are expected, so their errors are ignored
    socket.on("error", () => socket.destroy());
    socket.on("data", (part) => {
      received += part.toString("latin1");
    });
    socket.once("data", (part) => respond(socket, part.toString("latin1")));
  });
  await listening(server, address, port);
  const place = server.address();
  if (place === null || typeof place === "string") throw new Error("the receiver has no port");
  return {
    port: place.port,
    connections: () => connections,
    open: () => sockets.size,
    received: () => received,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function listening(server: Server, address: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, address, resolve);
  });
}
