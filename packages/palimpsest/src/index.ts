/** The public API. Everything else may change without notice. */
export { openContext } from "./open/open-context.ts";
export type { ContextOptions } from "./open/options.ts";
export type { BlockParams, ToolOption } from "./context/inputs.ts";
export type { Context } from "./context/context.ts";
export type {
  AfterRefusal,
  CompactOptions,
  CompactOutcome,
  ContextEvent,
  NextRequest,
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
export type { Store, StoreOpenOutcome, StorePorts } from "./ports/store.ts";
export { type FileStoreOptions, fileStore } from "./store/files/store.ts";
export { memoryStore } from "./store/memory/store.ts";
export { type AdoptOutcome, adoptOnce, type AdoptOnceDeps, type ForeignLog } from "./session/adopt-once.ts";
export type { FixedCountInput } from "./session/count-fixed-part.ts";
export { appendBoundary, type BoundaryInput } from "./session/append-boundary.ts";
export { type CountedLog, openCounted, openCountedAt } from "./session/counted-log.ts";
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
export type { SearchHit, SearchTextKind, SearchOutcome, SearchOptions } from "./ports/session-search.ts";
export type { CounterOutcome, RequestCount, TokenCounter } from "./ports/model-port.ts";
export type { Lease, LeaseOutcome, Leases, LeaseState } from "./ports/store.ts";
export type { SessionList, SessionSummary } from "./ports/store.ts";
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
export type { BlobId, Bytes, EntryId, MessageId, Millis, SessionId, Tokens, ToolUseId } from "./schema/brand.ts";
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
