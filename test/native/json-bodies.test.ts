// The contract of JsonBodies, in the native core and in memory.

import { nativeJsonBodies } from "../../src/adapters/native/json-bodies.ts";
import { jsonBodiesContract } from "../contract/json-bodies.ts";
import { inMemoryJsonBodies } from "../in-memory/json-bodies.ts";

jsonBodiesContract("The native core", nativeJsonBodies);
jsonBodiesContract("In-memory", inMemoryJsonBodies);
