export { contextProcessor, type ContextHandle, type ContextProcessorOptions } from "./context-processor.ts";
export { recallTool } from "./recall-tool.ts";
