import { bytes, millis } from "palimpsest/internal/schema/brand";

/** For trying a sandbox once when it is looked for: takes about 10 ms, on a loaded machine a hundred times that. */
export const sandboxTryMsMax = millis(10_000);
/** Maximum length of a failed try's message: its first line names the cause. */
export const sandboxTryCharsMax = 300;
/**
 * Mounts of one command: each costs about 20 µs at every start, and Linux allows 100,000 per namespace. Rules that need
 * more are refused, because leaving some out would expose what they hide.
 */
export const sandboxMountsMax = 2_000;

/** Maximum size of a repository's configuration; typical ones have a few hundred bytes. */
export const gitConfigBytesMax = bytes(256 * 2 ** 10);
/** Of one repository, including nested ones: each needs a few mounts. */
export const submodulesMax = 200;

/**
 * Names checked to find what a rule such as `Read(*.pem)` matches: a project with its dependencies has about 30,000,
 * which take 0.3 s the first time and a tenth of that later. With more, the folder can't be hidden file by file.
 */
export const deniedEntriesMax = 300_000;
/** A folder that changed this long ago gets another timestamp when it changes again, on every file system. */
export const folderSettledMs = millis(2_000);
/** Folders checked for each command for files that no rule names: a home folder has about 50, a project about 100. */
export const lookedFoldersMax = 400;
/** For git to tell whether hidden files were ever in a repository; a timeout counts as yes. */
export const historyMsMax = millis(3_000);

/** Maximum size of one string of a macOS profile: a string over 1,025 bytes makes the whole profile invalid. */
export const seatbeltStringBytesMax = bytes(1_000);
/**
 * Maximum size of a macOS profile, which is passed as an argument: all arguments and the environment together have 1
 * MiB.
 */
export const seatbeltProfileBytesMax = bytes(512 * 2 ** 10);

/** Symbolic links on the way to one file; Linux does not follow more. */
export const linksOnWayMax = 40;

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
