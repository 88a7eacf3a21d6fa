export { portDefault } from "./limits.ts";
