import { bytes, millis } from "palimpsest/internal/schema/brand";

/** Maximum size of a file that read, edit and write load into memory: a larger one is searched, not read. */
export const fileBytesMax = bytes(32 * 2 ** 20);
/** Lines shown if the call names no limit. */
export const readLinesDefault = 2_000;
/** A longer line is minified code or data: its start is enough to tell. */
export const readLineCharsMax = 2_000;
/** A read is never offloaded, so it must fit into a result as it is. */
export const readCharsMax = 100_000;
/** The API's limit for one image, decoded. */
export const imageBytesMax = bytes(5 * 2 ** 20);
/** Base64 adds a third, and it is sent again with every request; the API takes 32 MB for a whole request. */
export const pdfBytesMax = bytes(4 * 2 ** 20);
/** Bytes inspected to tell text from binary. */
export const sniffBytesMax = bytes(8_192);

/**
 * The newest of the files that were read are checked before each request: at about 20 µs a file this takes a few
 * milliseconds.
 */
export const changedFilesWatchedMax = 200;

/** Lines of context around a change. */
export const snippetContextLines = 3;
/** The model wrote a large replacement itself and knows it: the start is enough. */
export const snippetLinesMax = 30;
export const snippetLineCharsMax = 300;
/** Line numbers named when a text occurs several times. */
export const matchLinesNamedMax = 10;
/** Lines compared to find the one most similar to the requested text: bounds the time. */
export const nearestLinesMax = 20_000;
export const nearestLineCharsMax = 200;

/** Links followed by our own code, for a file that does not exist yet: as many as Linux follows. */
export const linksFollowedMax = 40;

export const shellTimeoutMsDefault = millis(120_000);
export const shellTimeoutMsMax = millis(600_000);
/** Between asking a process group to end and killing it. */
export const shellKillGraceMs = millis(2_000);
/** Interval of checking whether a process group is gone. */
export const groupLookMs = millis(20);
/** For output that is still in the pipe after the shell has ended. */
export const shellDrainMs = millis(200);
/**
 * Maximum length of the model's reason to run a command outside the sandbox: a sentence or two that the user reads
 * before deciding.
 */
export const outsideReasonCharsMax = 300;
/** Longer results go to a blob; the head stays in the view. */
export const shellResultCharsMax = 30_000;
/** Maximum length of the output of a failed command: a program reports the cause at its end. */
export const shellErrorCharsMax = 20_000;
/** Maximum length of a command's last line when it summarises the result: no terminal is wider. */
export const shellSummaryCharsMax = 200;
/**
 * Maximum size of the output of one command, half from its start and half from its end. It is held in memory, briefly
 * several times over while it becomes text, and then in a file. Output beyond it is lost for good, so the limit is far
 * above what anyone reads.
 */
export const shellOutputBytesMax = bytes(64 * 2 ** 20);
/** Maximum size of the shell's report of its current folder: a path, not output. */
export const shellFolderBytesMax = bytes(16_384);
/** A longer line is not analysed: its effect counts as unknown. */
export const shellCommandCharsMax = 20_000;
/** Names checked to see what a pattern such as `*.ts` matches. */
export const shellGlobNamesMax = 5_000;
/** Words that the braces of one word expand to: a longer list is really a loop. */
export const shellBraceWordsMax = 64;
/** Disk lookups to see what the words of a line may name. */
export const shellLookupsMax = 2_000;
/** Texts tried as the value of `HOME` or `PWD` if the line sets them; such a line counts as unclear anyway. */
export const shellPlaceValuesMax = 256;
/** Folders that a line may be in after its `cd`s. */
export const shellFoldersMax = 16;
/** Rules offered for one line: users don't read more before they agree. */
export const suggestedRulesMax = 5;
/** Candidates tried for these: each is judged against the whole request, which may name a file for every process. */
export const suggestedRulesTriedMax = 20;
/** Depth to which a shell within a shell (`sh -c "…"`) is analysed. */
export const shellNestingMax = 5;

/** Background commands at once: more means a loop is starting them. */
export const jobsRunningMax = 16;
/** Ended jobs that are kept, so that their output can still be read. */
export const jobsKeptMax = 16;
/**
 * Maximum size of a job's output since it was last read: all jobs together hold no more than one command in the
 * foreground.
 */
export const jobOutputBytesMax = bytes(2 * 2 ** 20);
/** A job that is still running then was forgotten; timers can't hold more than 24 days. */
export const jobMsMax = millis(24 * 3_600_000);
/** Maximum length of the command, when a reminder names its job. */
export const jobCommandCharsMax = 200;
export const jobFilterCharsMax = 500;

/** Entries of a search: the default, and the maximum. */
export const searchEntriesDefault = 250;
export const searchEntriesMax = 5_000;
export const searchLineCharsMax = 500;
export const searchContextLinesMax = 50;
export const searchResultCharsMax = 30_000;
export const searchTimeoutMs = millis(30_000);
/** Maximum length of one ripgrep message, which holds a whole line of a file: a longer one is dropped. */
export const searchMessageCharsMax = 4 * 2 ** 20;
export const globEntriesMax = 100;
/** Files whose modification times are compared. */
export const globFilesMax = 50_000;

/** `HEAD`, or the file that replaces `.git` in a worktree: one line. */
export const gitFileBytesMax = bytes(4_096);
/** A repository's own settings: a few lines for each branch and remote. */
export const gitSettingsBytesMax = bytes(2 ** 20);
/** A repository with 300,000 files has an index of about 30 MB. */
export const gitIndexBytesMax = bytes(64 * 2 ** 20);
/** Nested repositories checked before git is run without asking. */
export const submodulesMax = 100;

export const todosMax = 100;
export const todoCharsMax = 1_000;

/** What a user can be asked at once without losing track, and the answers that fit on a screen. */
export const questionsMax = 4;
export const optionsMin = 2;
export const optionsMax = 6;
export const questionCharsMax = 500;
export const headerCharsMax = 30;
export const optionCharsMax = 200;
/** Maximum length of one answer, written or chosen: a page. */
export const answerCharsMax = 4_000;

/** Maximum length of the agent's note when it requests compaction: a page. It follows the summary word for word. */
export const compactNoteCharsMax = 4_000;

/** A page of recalled text, by default and at most: it is never offloaded, so it must fit as it is. */
export const recallCharsDefault = 20_000;
export const recallCharsMax = 100_000;
/** Images and documents per page: each costs a few thousand tokens. */
export const recallMediaMax = 10;
/** Hits per page: about 2,000 tokens, a third of them for the neighbours. */
export const recallHitsMax = 10;
/** Characters of a session's title in a hit. */
export const recallTitleChars = 60;
/** Further ids named for a hit: each of them gives the same line. */
export const recallAlsoMax = 3;

/** All definitions together: they are part of every request. A tenth more than there are. */
export const definitionsTokensMax = 3_950;

/** The search for the symbols that memories name: a session waits for it when it starts. */
export const wordSearchMs = 500;

/** Characters of an agent's task in a few words: it stands in lists. */
export const agentDescriptionCharsMax = 200;
/** Types of agents in the tool's description, and characters of each: every request carries them. */
export const agentTypesShownMax = 40;
export const agentTypeCharsMax = 300;
/** Ended agents that are told again behind a boundary, newest first: what is older was used or will not be. */
export const agentsToldMax = 5;
