import { bytes, millis } from "palimpsest/internal/schema/brand";

/** Of one request, its first line included. A longer head is data in the guise of one. */
export const proxyHeaderBytesMax = bytes(32 * 2 ** 10);
/** For the head of a request to come. The time in which the user is asked does not count. */
export const proxyHeadersMs = millis(30_000);
/** For looking up a name, and for connecting to it. */
export const proxyConnectMs = millis(30_000);
/** Without a byte in either direction: servers themselves give up earlier. */
export const proxyIdleMs = millis(5 * 60_000);
/** Refusals of one command that are kept to be told with its result. */
export const refusalsKeptMax = 20;
/** Of the reason that a refusal gives: one line. */
export const refusalCharsMax = 300;

/** Questions about hosts that one command may put to the user: a program that asks for more is not to be answered. */
export const hostQuestionsMax = 20;
/** Hosts whose refusal by the user is remembered for the session: the oldest go first, and are asked about again. */
export const hostsDeniedMax = 1_000;
/** Of a command, where a question names it. */
export const askedCommandCharsMax = 200;
