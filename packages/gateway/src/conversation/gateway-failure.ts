/** A failure of ours that says why in words of ours: no path, and nothing that a client sent. */
export class GatewayFailure extends Error {
  override readonly name = "GatewayFailure";
}
