export { type ContextHandle, contextMiddleware, type ContextMiddlewareOptions } from "./context-middleware.ts";
