import { bytes, millis } from "palimpsest/internal/schema/brand";

/** Of a file that read, edit and write take into memory: a larger one is searched, not read. */
export const fileBytesMax = bytes(32 * 2 ** 20);
/** Lines shown where the call names no limit. */
export const readLinesDefault = 2_000;
/** A longer line is minified or data: its start says what it is. */
export const readLineCharsMax = 2_000;
/** A read is never offloaded, so it stays within what a result may hold by itself. */
export const readCharsMax = 100_000;
/** The API's limit for one image, decoded. */
export const imageBytesMax = bytes(5 * 2 ** 20);
/** In base64 a third more, and sent again with every request; the API takes 32 MB for a whole request. */
export const pdfBytesMax = bytes(4 * 2 ** 20);
/** How many bytes are looked at to tell text from binary. */
export const sniffBytesMax = bytes(8_192);

/** Of the files that were read, the newest are looked at before each request: at some 20 µs a file that takes a few milliseconds. */
export const changedFilesWatchedMax = 200;

/** Lines of context around a change. */
export const snippetContextLines = 3;
/** A large replacement is known to the model, which wrote it: its start is enough. */
export const snippetLinesMax = 30;
export const snippetLineCharsMax = 300;
/** Line numbers named when a text occurs several times. */
export const matchLinesNamedMax = 10;
/** Lines compared to find the one most like what was asked for: a bound on the time. */
export const nearestLinesMax = 20_000;
export const nearestLineCharsMax = 200;

/** Links followed by hand, for a file that is not there yet: as many as Linux follows. */
export const linksFollowedMax = 40;

export const shellTimeoutMsDefault = millis(120_000);
export const shellTimeoutMsMax = millis(600_000);
/** Between asking a process group to end and ending it. */
export const shellKillGraceMs = millis(2_000);
/** How often it is looked whether a process group is gone. */
export const groupLookMs = millis(20);
/** For output still in the pipe once the shell has ended. */
export const shellDrainMs = millis(200);
/** Of the model's reason to run a command outside the sandbox: a sentence or two, read before a yes or no. */
export const outsideReasonCharsMax = 300;
/** Longer results go to a blob; the head stays in the view. */
export const shellResultCharsMax = 30_000;
/** Of the output of a command that failed: a program says at its end what it missed. */
export const shellErrorCharsMax = 20_000;
/** Of the last line that a command printed, where its result is told in one: no terminal is wider. */
export const shellSummaryCharsMax = 200;
/**
 * Of the output of one command, half from its start and half from its end. All of this is in memory, for a moment a few
 * times over while it becomes a text, then in a file: beyond it the output is gone for good, so it is far more than
 * anybody reads.
 */
export const shellOutputBytesMax = bytes(64 * 2 ** 20);
/** Where the shell is, told by itself: a path, not an output. */
export const shellFolderBytesMax = bytes(16_384);
/** A longer line is not looked into: it counts as unknown. */
export const shellCommandCharsMax = 20_000;
/** Names looked at to see where a pattern such as `*.ts` leads. */
export const shellGlobNamesMax = 5_000;
/** Words that the braces of one word make: a longer list is a loop written otherwise. */
export const shellBraceWordsMax = 64;
/** Looks at the disk to see what the words of a line may name. */
export const shellLookupsMax = 2_000;
/** Texts of a line that sets `HOME` or `PWD` which are tried as their value; such a line is unclear anyway. */
export const shellPlaceValuesMax = 256;
/** Folders a line may stand in after its `cd`s. */
export const shellFoldersMax = 16;
/** Rules offered for one line: nobody reads more before they say yes. */
export const suggestedRulesMax = 5;
/** Rules that are tried for it: each is judged against the whole request, which may name a file for every process. */
export const suggestedRulesTriedMax = 20;
/** How deep a shell within a shell (`sh -c "…"`) is looked into. */
export const shellNestingMax = 5;

/** Background commands at once: more is a loop that starts them. */
export const jobsRunningMax = 16;
/** Of those that have ended, so that their output can still be looked at. */
export const jobsKeptMax = 16;
/** Of what a job wrote since the last look: with all jobs at their limit, what one command in the foreground may take. */
export const jobOutputBytesMax = bytes(2 * 2 ** 20);
/** A job that nobody ends by then was forgotten; timers hold no more than 24 days. */
export const jobMsMax = millis(24 * 3_600_000);
/** Of the command, where a reminder names its job. */
export const jobCommandCharsMax = 200;
export const jobFilterCharsMax = 500;

/** Entries of a search shown where the call names no limit, and at most. */
export const searchEntriesDefault = 250;
export const searchEntriesMax = 5_000;
export const searchLineCharsMax = 500;
export const searchContextLinesMax = 50;
export const searchResultCharsMax = 30_000;
export const searchTimeoutMs = millis(30_000);
/** Of one message of ripgrep, which holds a whole line of a file: a longer one is left out. */
export const searchMessageCharsMax = 4 * 2 ** 20;
export const globEntriesMax = 100;
/** Files whose age is compared. */
export const globFilesMax = 50_000;

/** `HEAD`, or the file that stands for `.git` in a worktree: a line. */
export const gitFileBytesMax = bytes(4_096);
/** A repository's own settings: some lines for each branch and remote. */
export const gitSettingsBytesMax = bytes(2 ** 20);
/** A repository with 300,000 files has an index of some 30 MB. */
export const gitIndexBytesMax = bytes(64 * 2 ** 20);
/** Repositories in a repository that are looked into before git is run unasked. */
export const submodulesMax = 100;

export const todosMax = 100;
export const todoCharsMax = 1_000;

/** What a person can be asked at once without losing the thread, and the answers that fit on a screen. */
export const questionsMax = 4;
export const optionsMin = 2;
export const optionsMax = 6;
export const questionCharsMax = 500;
export const headerCharsMax = 30;
export const optionCharsMax = 200;
/** Of one answer, written or chosen: a page. */
export const answerCharsMax = 4_000;

/** Of the note that the agent gives when it asks for compaction: a page. It stands word for word behind the summary. */
export const compactNoteCharsMax = 4_000;

/** A page of what was expanded, by default and at most: never offloaded, so it must fit by itself. */
export const recallCharsDefault = 20_000;
export const recallCharsMax = 100_000;
/** Images and documents that one page brings: each costs some thousand tokens. */
export const recallMediaMax = 10;
/** Hits of a page: some 1,500 tokens. */
export const recallHitsMax = 10;
/** Other ids of a hit that are named: any of them gives the same line. */
export const recallAlsoMax = 3;

/** All definitions together: they stand in front of every request. */
export const definitionsTokensMax = 4_000;
