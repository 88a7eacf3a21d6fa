export { portDefault } from "./limits.ts";
export { openGateway, type OpenGatewayOptions } from "./open-gateway.ts";
export {
  type GatewayOutcome,
  type RunningGateway,
  serveGateway,
  type ServeGatewayOptions,
} from "./http/serve-gateway.ts";
