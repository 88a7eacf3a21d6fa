import { createHmac } from "node:crypto";

/**
 * Proves that the process knows the gateway's secret. Without this check, another program listening on the port would
 * receive the clients' keys.
 */
export const gatewayProof = (secret: string, nonce: string): string =>
  createHmac("sha256", secret).update(`palimpsest gateway ${nonce}`).digest("hex");

export const nonceShape = /^[0-9a-f]{32,128}$/;
