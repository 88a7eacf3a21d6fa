import { bytes, millis } from "palimpsest/internal/schema/brand";

/** Files looked at in one folder of definitions, so that a folder that is for something else slows no start. */
export const definitionFilesMax = 500;
/** A definition is a prompt: a larger file is something else. */
export const definitionFileBytesMax = bytes(256 * 2 ** 10);
/** Definitions in all: the model is told each of them. */
export const definitionsMax = 100;

/** A worktree of a large repository takes a minute to check out. */
export const worktreeGitMs = millis(5 * 60_000);
/** What git says when it lists changed files; a longer list is a change all the same. */
export const worktreeGitBytesMax = bytes(16 * 2 ** 20);
/** Characters of what git says about a failure. */
export const gitMessageCharsMax = 300;
/** The record beside a worktree has three short fields. */
export const worktreeRecordBytesMax = bytes(4_096);
/** Git's list of worktrees is changed within milliseconds; more than a minute means that its holder hangs. */
export const worktreeLockWaitMs = millis(60_000);
/** Another process may hold a worktree for a moment, to see whether it was left. */
export const worktreeLookWaitMs = millis(1_000);
/** Random, so that several processes don't try at the same time. */
export const worktreeLockPauseMs = { min: millis(5), max: millis(30) } as const;
