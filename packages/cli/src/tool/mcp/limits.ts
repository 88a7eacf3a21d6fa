import { bytes, millis } from "palimpsest/internal/schema/brand";

/** Loading the protocol's SDK blocks this thread: the first prompt is drawn before it. */
export const sdkLoadDelayMs = millis(200);
/** To start and answer, including package runners that download first. */
export const connectMs = millis(60_000);
/** The SDK's share of it: the SDK should give up first, because it knows what the server has sent. */
export const handshakeMs = millis(55_000);
export const listMs = millis(30_000);
/** As long as the longest command in the foreground. */
export const callMs = millis(600_000);
/** For a server that is still starting, before a call to it fails. */
export const callWaitMs = millis(60_000);
/** Restarts of one server per session: a server that dies more often has a lasting problem. */
export const restartsMax = 3;
/** A server that ran this long gets its restarts back: a laptop that sleeps is no reason to give up a server. */
export const restartsForgottenMs = millis(600_000);
/** Before the first restart; each further one waits twice as long. */
export const restartWaitMs = millis(1_000);
/** How long the first announcement waits for all servers, so that it is a single one in a fixed order. */
export const announceWaitMs = millis(10_000);

/** Tools of one server: more than any user needs. */
export const toolsPerServerMax = 1_000;
export const toolNameCharsMax = 128;
/** Pages of one list: a server that always names another page must not keep us busy for ever. */
export const listPagesMax = 50;
export const descriptionCharsMax = 4_000;
/** Maximum length of a schema as shown; a larger one is cut, with a note. */
export const schemaCharsMax = 10_000;
/** Maximum length of a server's own instructions, as a search shows them. */
export const instructionsCharsMax = 2_000;
/**
 * The same in the announcement, which every later request carries: enough to say what the server is for. Of recorded
 * servers one in seventeen is used in a session, and a call to one comes after a search, which shows the rest.
 */
export const announcedInstructionsCharsMax = 400;
/** Names of one server's tools in the announcement; the search finds the others. */
export const announcedNamesMax = 60;
/** Definitions per search: a few thousand tokens. */
export const searchToolsMax = 6;
/** Newest tools whose definitions a session remembers across a boundary; older ones have to be searched for again. */
export const discoveredToolsMax = 50;
export const queryCharsMax = 500;
/** Maximum length of an answer's summary on the screen: a line and a half of a wide terminal. */
export const summaryCharsMax = 200;
/** Maximum length of one answer's text; the connection holds 10 MB at most. */
export const answerCharsMax = 8 * 2 ** 20;
/** Longer answers are offloaded, like the output of commands. */
export const answerShownCharsMax = 30_000;
/** Maximum size of one message of a server, over any transport: it is held in memory as a whole. */
export const messageBytesMax = bytes(10 * 2 ** 20);
/** The end of a server's stderr, kept for the error message. */
export const stderrBytesMax = bytes(2_000);
/** For a server to end by itself after its stdin is closed, before it is signalled. */
export const closeGraceMs = millis(500);
/** For a server that is still starting while its session closes: as long as ending an unwilling process takes. */
export const closeStartingMs = millis(5_000);
/** For output that a process wrote before it ended. */
export const transportDrainMs = millis(200);
/** Between two list reads that a server asks for: a server that keeps changing its list must not keep us busy. */
export const relistPauseMs = millis(1_000);
/** Maximum length of a failure's message. */
export const failureCharsMax = 500;
/** Shorter values are ordinary words, not secrets. */
export const secretCharsMin = 6;
