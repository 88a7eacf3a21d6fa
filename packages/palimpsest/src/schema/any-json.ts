import { z } from "zod";
import type { Json } from "./json.ts";

/** Any JSON value inside a schema. It is not validated deeply, because `parseJson` returns only JSON. */
export const anyJson = z.custom<Json>((value) => value !== undefined);
