import { bytes, millis } from "palimpsest/internal/schema/brand";

/** Loading the protocol's SDK keeps this thread busy: the first prompt is drawn before it. */
export const sdkLoadDelayMs = millis(200);
/** To start and answer, package runners that download included. */
export const connectMs = millis(60_000);
/** Of that, the SDK's part: it is to give up first, as it knows what the server has said. */
export const handshakeMs = millis(55_000);
export const listMs = millis(30_000);
/** As long as the longest command in the foreground. */
export const callMs = millis(600_000);
/** For a server that is just being started, before a call to it fails. */
export const callWaitMs = millis(60_000);
/** Restarts of one server in a session: what dies more often does so for a reason. */
export const restartsMax = 3;
/** What ran so long does not die of what it died of before: a laptop that sleeps is no reason to give a server up. */
export const restartsForgottenMs = millis(600_000);
/** Before the first restart; each further one waits twice as long. */
export const restartWaitMs = millis(1_000);
/** The first announcement waits so long for all servers, so that it is one, in one order, whoever answers first. */
export const announceWaitMs = millis(10_000);

/** Tools of one server: more than any person has use for. */
export const toolsPerServerMax = 1_000;
export const toolNameCharsMax = 128;
/** Pages of one list: a server that always names another must not keep anybody. */
export const listPagesMax = 50;
export const descriptionCharsMax = 4_000;
/** Of a schema, as it is shown; a larger one is cut and said. */
export const schemaCharsMax = 10_000;
/** What a server says of itself, in the announcement. */
export const instructionsCharsMax = 2_000;
/** Names of one server's tools in the announcement; the search finds the others. */
export const announcedNamesMax = 60;
/** Definitions that one search gives: some thousand tokens. */
export const searchToolsMax = 6;
/** Tools whose definitions a session remembers across a boundary, the newest: what lies further back is searched for again. */
export const discoveredToolsMax = 50;
export const queryCharsMax = 500;
/** Of an answer as people see it: a line and a half of a wide terminal. */
export const summaryCharsMax = 200;
/** Of one answer's text; the connection holds 10 MB at most. */
export const answerCharsMax = 8 * 2 ** 20;
/** Longer answers are offloaded, as those of commands. */
export const answerShownCharsMax = 30_000;
/** Of one message of a server, on whatever way it comes: it is held whole. */
export const messageBytesMax = bytes(10 * 2 ** 20);
/** The end of what a server wrote to stderr, kept for when it fails. */
export const stderrBytesMax = bytes(2_000);
/** For a server to end by itself once its stdin is closed, before it is told to. */
export const closeGraceMs = millis(500);
/** For one that is being started while its session closes: as long as ending a process takes that does not want to. */
export const closeStartingMs = millis(5_000);
/** For what a process wrote before it ended. */
export const transportDrainMs = millis(200);
/** Between two lists that a server asks to be read: one that always has another list must not keep anybody busy. */
export const relistPauseMs = millis(1_000);
/** Of a failure, as it is told. */
export const failureCharsMax = 500;
/** Shorter values are words that stand everywhere, and no keys. */
export const secretCharsMin = 6;
