// All API operations as they are declared, for tests of what is generated from the declarations. The operations cannot
// be called, because there is no service behind them.

import type { Operation } from "../../src/api/operation.ts";
import { allOperations, type OperationDependencies } from "../../src/api/operations.ts";

/** The operations, in the order of the API reference. */
export const DECLARED_OPERATIONS: readonly Operation[] = allOperations({} as OperationDependencies);
