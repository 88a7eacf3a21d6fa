export { contextMiddleware, type ContextMiddleware, type ContextMiddlewareOptions } from "./context-middleware.ts";
export { contextStep, type ContextStep } from "./context-step.ts";
