import { bytes, millis } from "palimpsest/internal/schema/brand";

/** Maximum size of one request's head, including its first line. A longer one is data in disguise. */
export const proxyHeaderBytesMax = bytes(32 * 2 ** 10);
/** For a request's head to arrive. The time for asking the user does not count. */
export const proxyHeadersMs = millis(30_000);
/** For resolving a name, and for connecting to it. */
export const proxyConnectMs = millis(30_000);
/** Without a byte in either direction: servers give up earlier. */
export const proxyIdleMs = millis(5 * 60_000);
/** Refusals of one command that are reported with its result. */
export const refusalsKeptMax = 20;
/** Maximum length of a refusal's reason: one line. */
export const refusalCharsMax = 300;

/** Questions about hosts per command: a program that wants more gets no answer. */
export const hostQuestionsMax = 20;
/** Hosts that the user refused, remembered for the session: the oldest are dropped and asked about again. */
export const hostsDeniedMax = 1_000;
/** Maximum length of a command, when a question names it. */
export const askedCommandCharsMax = 200;
