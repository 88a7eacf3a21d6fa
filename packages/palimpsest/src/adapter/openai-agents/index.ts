export { type ContextHandle, type ContextSessionOptions, withContext } from "./with-context.ts";
