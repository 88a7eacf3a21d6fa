import { createHash } from "node:crypto";
import type { Session } from "palimpsest/internal/session/session";

/** Two views with the same one are the same byte for byte. */
export const fingerprint = (session: Session): string =>
  createHash("sha256").update(JSON.stringify(session.view().messages)).digest("hex");
