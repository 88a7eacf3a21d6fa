export { type ContextHandle, type OpenAIOptions, withContext } from "./with-context.ts";
