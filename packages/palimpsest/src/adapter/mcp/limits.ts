import { millis } from "../../schema/brand.ts";

/** Characters of a page, about 5,000 tokens: clients refuse or cut results of more than 25,000 tokens. */
export const pageCharsMax = 20_000;
/** More than any text has. */
export const pagesMax = 100_000;
/** Hits a page, about 2,000 tokens with their neighbours. */
export const hitsPerPage = 10;
/** Further ids named for a hit: each of them gives the same line. */
export const alsoNamedMax = 3;
/** Sessions a page, and in the list of resources. */
export const sessionsPerPage = 50;
/** Characters of a session's title. */
export const titleCharsMax = 120;
/** Revisions a page. */
export const revisionsPerPage = 50;
/** Memories in the list of resources and in completions; `memory_read` lists all. */
export const memoriesListedMax = 200;
/** Proposals for one argument: the protocol's own limit. */
export const completionsMax = 100;
/** Hits in a prompt: they are sent with it, whether they help or not. */
export const promptHitsMax = 10;
/** Characters of a client's name in the history. */
export const clientNameCharsMax = 64;
/** How often a save is tried again if another writer was faster. */
export const saveAttemptsMax = 5;
/** Characters of a query, of which recall uses 2,000. */
export const queryCharsMax = 2_000;
/** Characters of ids, names and paths in a call. */
export const idCharsMax = 1_024;
/** Characters of the text of a memory in a call; the directory's own limit is in bytes. */
export const memoryCharsMax = 102_400;

/** How long a search waits for what is new; what is left over follows with the next search. */
export const catchUpMs = millis(10_000);

/** Clients of one HTTP server at a time. Each holds a server object of some 100 KB and perhaps a connection. */
export const httpClientsMax = 64;
/** A client without an open request for this long is ended when another one needs its place, or at the next look. */
export const httpIdleMs = millis(30 * 60_000);
/** How often idle clients are looked for. */
export const httpLookMs = millis(60_000);
/** Bytes of a request: the longest memory, escaped, has room. */
export const httpBodyBytesMax = 1_048_576;
/** Connections at a time: each client has a stream and a request or two. */
export const httpConnectionsMax = 4 * httpClientsMax;
/** A shorter token could be guessed. */
export const httpTokenCharsMin = 32;
