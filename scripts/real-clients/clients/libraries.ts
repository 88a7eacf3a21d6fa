import type { RealClient } from "../client.ts";

export const libraries: readonly RealClient[] = [];
