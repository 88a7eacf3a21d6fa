export { portDefault } from "./limits.ts";
export {
  type GatewayOutcome,
  type RunningGateway,
  serveGateway,
  type ServeGatewayOptions,
} from "./http/serve-gateway.ts";
