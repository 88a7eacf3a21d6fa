import { hash } from "node:crypto";

/** 128 bits of SHA-256: enough to tell blocks apart, short enough to keep hundreds of thousands of them. */
export const hashOf = (text: string): string => hash("sha256", text, "base64url").slice(0, 22);
