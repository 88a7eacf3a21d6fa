/** The public API. Everything else may change without notice. */
export { openContext } from "./open/open-context.ts";
export type { ContextOptions } from "./open/options.ts";
export type { BlockParams, SyncOptions, ToolOption } from "./context/inputs.ts";
export type { Context } from "./context/context.ts";
export type { AgentOptions, ForkOptions } from "./context/agent-options.ts";
export type {
  AfterRefusal,
  CompactOptions,
  CompactOutcome,
  ContextEvent,
  NextRequest,
  SyncedRequest,
  SyncReport,
  ToolCall,
} from "./context/outcomes.ts";
export { ContextError, type ContextErrorCode } from "./context/context-error.ts";
export type { Params, Provider, Reply, StreamEvent } from "./context/provider-formats.ts";
export type { AskModel, Summarizer, SummaryRequest } from "./context/summarizer.ts";
export type { EditApproval } from "./context/request/edit-approvals.ts";
export type { Policy } from "./layers/policy.ts";
export { getPreset } from "./policy/policy-catalogue.ts";
export type { PlannedEdit } from "./schema/loop-event.ts";
export type { PolicyName, SavingLevel } from "./schema/policy-names.ts";
export type { CountText } from "./tokens/text-counter.ts";
export type { RecordedEdit } from "./session/past-receipts.ts";
export type {
  Memories,
  Memory,
  MemoryAuthor,
  MemoryChange,
  MemoryChangeSet,
  MemoryCommitOutcome,
  MemoryProvenance,
  MemoryPurgeOutcome,
  MemoryRevision,
  MemoryRevisionChange,
  MemorySecret,
  MemorySource,
  MemoryText,
  MemoryTrust,
  MemoryType,
} from "./ports/memories.ts";
export type { Presence, WorkingTree } from "./ports/working-tree.ts";
export type { ContextMemory, RelevantMemories, SaveOutcome } from "./context/memory/context-memory.ts";
export type { RevertOutcome } from "./memory/directory/revert-memories.ts";
export type { BlamedLine, MemoryDraft } from "./memory/directory/memory-history.ts";
export type { RankMemories } from "./memory/directory/relevant-memories.ts";
export type { ForgetSelection } from "./memory/directory/forget-memories.ts";
export { fileMemories } from "./store/files/file-memories.ts";
export { fileWorkingTree } from "./store/files/file-working-tree.ts";
export type { Store, StoreOpenOutcome, StorePorts } from "./ports/store.ts";
export { type FileStoreOptions, fileStore } from "./store/files/store.ts";
export { memoryStore } from "./store/memory/store.ts";
export { type AdoptOutcome, adoptOnce, type AdoptOnceDeps, type ForeignLog } from "./session/adopt-once.ts";
export type { FixedCountInput } from "./session/count-fixed-part.ts";
export { appendBoundary, type BoundaryInput } from "./session/append-boundary.ts";
export { type CountedLog, openCounted, openCountedAt } from "./session/counted-log.ts";
export {
  deleteSessions,
  type DeleteSessionsDeps,
  type DeletionPreview,
  type DeletionReport,
  previewDeletion,
  type SessionRemover,
} from "./session/delete-sessions.ts";
export { expand, type ExpandOutcome } from "./session/expand.ts";
export type { Finding } from "./session/check-log.ts";
export { checkLog, type LogCheck } from "./session/check-log.ts";
export { type OpenLogAtOptions, type OpenedLog, openLog, openLogAt, type OpenLogOptions } from "./session/open-log.ts";
export { searchSession, type SearchSessionOptions } from "./session/search-session.ts";
export {
  type AppendEntriesOutcome,
  type EditOutcome,
  type EditInput,
  type CloseHandler,
  type FinalAppender,
  type OpenSessionOptions,
  openSession,
  type Session,
  type SessionDeps,
  type OpenSessionOutcome,
} from "./session/session.ts";
export { type UndoOutcome, undo, type UndoOptions } from "./session/undo.ts";
export type { BlobLink, BlobPutOutcome, Blobs, WriteFailure } from "./ports/blobs.ts";
export type {
  CatchUpOptions,
  CatchUpOutcome,
  OpenedDocument,
  OpenRecallOptions,
  OpenRecallOutcome,
  RecallDocument,
  RecallFilters,
  RecallIndex,
  RecallIndexes,
  RecallOptions,
  RecallSource,
  RecallText,
} from "./ports/recall-index.ts";
export { openStoreRecall, type OpenStoreRecallOptions } from "./session/open-recall.ts";
export type { HitNeighbour, SearchHit, SearchTextKind, SearchOutcome, SearchOptions } from "./ports/session-search.ts";
export type { CounterOutcome, RequestCount, TokenCounter } from "./ports/model-port.ts";
export type { SecretFinding } from "./text/find-secrets.ts";
export type { SpendEntry, SpendSums } from "./cache/background-budget.ts";
export type { SpendLog } from "./ports/spend-log.ts";
export type { DreamLease, DreamLeaseOutcome, DreamLeases } from "./ports/dream-lease.ts";
export type { Lease, LeaseOutcome, Leases, LeaseState } from "./ports/store.ts";
export type { SessionList, SessionSummary } from "./ports/store.ts";
export type { GarbageStore } from "./ports/garbage-store.ts";
export type { DetachOutcome, SessionDeletion } from "./ports/session-deletion.ts";
export type {
  AdoptedCopy,
  AppendOutcome,
  BlankOutcome,
  ByteRange,
  ByteSource,
  Durability,
  OpenForWritingOutcome,
  SetAside,
  Transcripts,
  TranscriptWriter,
} from "./ports/transcripts.ts";
export type { Block, Message } from "./schema/block.ts";
export type {
  BlobId,
  Bytes,
  EntryId,
  MemoryHash,
  MemoryRevisionId,
  MessageId,
  Millis,
  SessionId,
  Tokens,
  ToolUseId,
} from "./schema/brand.ts";
export { blobId, bytes, entryId, messageId, millis, sessionId, tokens, toolUseId } from "./schema/brand.ts";
export type { Edit } from "./schema/edit.ts";
export type { Entry } from "./schema/entry.ts";
export type { Receipt, ReceiptClass, ReceiptLine } from "./schema/receipt.ts";
export type { Sourced, Settings, Source } from "./settings/resolve-settings.ts";
export { type ModelKnowledge, type ResolvedSettings, resolveForModel } from "./settings/resolved-settings.ts";
export type { Problem } from "./settings/problem.ts";
export { type ContextReport, contextReport, type ReportInputs } from "./tokens/context-report.ts";
export type { Rates } from "./tokens/estimate-block.ts";
export type {
  CountableRequest,
  DeferredTools,
  FixedFigure,
  FixedPart,
  FixedPiece,
  MemoryFile,
  ToolDefinition,
} from "./tokens/fixed-part.ts";
export type { ContextLedger, ContextSize, TokenLedger } from "./tokens/token-ledger.ts";
export { parseNamedLimit } from "./tokens/resolve-window.ts";
export { cutPoints } from "./transcript/first-messages.ts";
export { type Draft, replyDraft, resultDraft, userDraft } from "./transcript/draft.ts";
export { Fold, type FoldOptions, type View } from "./transcript/fold.ts";
export { mend } from "./transcript/violations.ts";
export type { Repair } from "./transcript/repair.ts";
export { type Violation, violations } from "./transcript/violations.ts";
export { readInstructions, type ReadInstructions, type ReadInstructionsOptions } from "./open/read-instructions.ts";
export type { Instruction } from "./memory/load-instruction-file.ts";
