import { createHmac } from "node:crypto";

/**
 * What a gateway answers to a nonce: only a process that can read the gateway's secret can make it. Without it, another program
 * on the same port would be handed the keys of the clients.
 */
export const gatewayProof = (secret: string, nonce: string): string =>
  createHmac("sha256", secret).update(`palimpsest gateway ${nonce}`).digest("hex");

export const nonceShape = /^[0-9a-f]{32,128}$/;
