import { millis } from "../../schema/brand.ts";

/** How long an append waits for another writer of the session: the SDK gives up after 60 seconds. */
export const appendWaitMs = millis(20_000);
/** Between two tries to open a session that another process writes to. */
export const appendRetryMs = millis(20);
/** Bytes of a transcript's first line, which says whose it is: two names and a time. */
export const ownerBytesMax = 16_384;
/** Transcripts whose ids are kept in memory. The ids of others are read again when something is appended to them. */
export const knownLogsMax = 100;
/** Of a sub-agent's name, in the name of its file. */
export const agentNameCharsMax = 60;
