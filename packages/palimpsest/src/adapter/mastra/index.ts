export { contextProcessor, type ContextHandle, type ContextProcessorOptions } from "./context-processor.ts";
