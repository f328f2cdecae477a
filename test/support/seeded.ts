// The seeded random generator, for tests and benches; failing tests print the seed.

export { seeded } from "../../bench/lib/seeded.ts";
