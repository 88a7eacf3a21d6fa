import { bytes, millis } from "palimpsest/internal/schema/brand";

/** For the one try of a sandbox when it is looked for: it takes some 10 ms, on a machine under load a hundred times that. */
export const sandboxTryMsMax = millis(10_000);
/** Of what a failed try says: its first line names the cause. */
export const sandboxTryCharsMax = 300;
/**
 * Mounts of one command: each costs some 20 µs at every start, and Linux allows 100,000 in one namespace. Rules that need
 * more than this are refused, as leaving some out would open what they hide.
 */
export const sandboxMountsMax = 2_000;

/** Of a repository's configuration; git's own are some hundred bytes. */
export const gitConfigBytesMax = bytes(256 * 2 ** 10);
/** Of one repository, with those inside them: each is a few mounts. */
export const submodulesMax = 200;

/**
 * Names that are looked at to find what a rule such as `Read(*.pem)` is for: a project with its dependencies has some
 * 30,000, read in 0.3 s the first time and in a tenth of that later. With more, the folder can't be held file by file.
 */
export const deniedEntriesMax = 300_000;
/** A folder that changed this long ago has another time when it changes again, on every file system. */
export const folderSettledMs = millis(2_000);
/** Looked at for each command, for what no rule names: a home folder has some 50, a project with its own folders some 100. */
export const lookedFoldersMax = 400;
/** For git to tell whether files that rules hide were ever in a repository; later counts as yes. */
export const historyMsMax = millis(3_000);

/** Of one string of a macOS profile: a longer one than 1,025 bytes makes the whole profile invalid. */
export const seatbeltStringBytesMax = bytes(1_000);
/** Of a macOS profile, which is an argument of the program that holds: all of them and the environment have 1 MiB. */
export const seatbeltProfileBytesMax = bytes(512 * 2 ** 10);

/** Symbolic links on the way to one file; Linux follows no more than this. */
export const linksOnWayMax = 40;
