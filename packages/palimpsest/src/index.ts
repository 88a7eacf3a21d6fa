/** The public names, one by one. Everything else may change without notice. */
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
export type { Params, Provider, Reply, StreamEvent } from "./context/forms.ts";
export type { AskModel, Summarizer, SummaryRequest } from "./context/summarizer.ts";
export type { Policy } from "./layers/policy.ts";
export { presetOf as preset } from "./policy/catalogue.ts";
export type { PolicyName } from "./schema/settings.ts";
export type { CountText } from "./tokens/text-counter.ts";
export type { RecordedEdit } from "./session/past-receipts.ts";
export type { Store, StoreOpened, StorePorts } from "./ports/store.ts";
export { type FileStoreOptions, fileStore } from "./store/files/store.ts";
export { memoryStore } from "./store/memory/store.ts";
export { type AdoptedOnce, adoptOnce, type AdoptOnceDeps, type ForeignLog } from "./session/adopt-once.ts";
export type { FixedCountInput } from "./session/count-fixed-part.ts";
export { appendBoundary, type BoundaryInput } from "./session/boundary.ts";
export { type CountedLog, openCounted, openCountedAt } from "./session/counted.ts";
export { expand, type Expanded } from "./session/expand.ts";
export type { Finding } from "./session/finding.ts";
export { checkLog, type LogCheck } from "./session/fsck.ts";
export { type AtOptions, type OpenedLog, openLog, openLogAt, type OpenOptions } from "./session/open.ts";
export { searchSession, type SearchSession } from "./session/search-session.ts";
export {
  type Appended,
  type Edited,
  type EditInput,
  type EndingAct,
  type LastAppends,
  type OpenSession,
  openSession,
  type Session,
  type SessionDeps,
  type SessionOpened,
} from "./session/session.ts";
export { type Undone, undo, type UndoOptions } from "./session/undo.ts";
export type { BlobLink, BlobPut, Blobs, WriteFailure } from "./ports/blobs.ts";
export type { Hit, SaidKind, Searched, SearchOptions } from "./ports/session-search.ts";
export type { CounterOutcome, RequestCount, TokenCounter } from "./ports/token-counter.ts";
export type { Lease, LeaseOutcome, Leases, LeaseState } from "./ports/leases.ts";
export type { SessionList, SessionSummary } from "./ports/session-list.ts";
export type {
  AdoptedCopy,
  AppendOutcome,
  BlankOutcome,
  ByteRange,
  ByteSource,
  Durability,
  OpenForWriting,
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
export type { InForce, Settings, Source } from "./settings/given.ts";
export { type ModelKnowledge, type Numbers, numbersInForce } from "./settings/numbers.ts";
export type { Problem } from "./settings/problem.ts";
export { type ContextReport, contextReport, type ReportInputs } from "./tokens/context-report.ts";
export type { Rates } from "./tokens/estimate.ts";
export type {
  CountableRequest,
  DeferredTools,
  FixedFigure,
  FixedPart,
  FixedPiece,
  MemoryFile,
  ToolDefinition,
} from "./tokens/fixed-part.ts";
export type { ContextLedger, ContextSize, TokenLedger } from "./tokens/ledger.ts";
export { learnedFrom } from "./tokens/learned-window.ts";
export { cutPoints } from "./transcript/cut.ts";
export { type Draft, replyDraft, resultDraft, userDraft } from "./transcript/draft.ts";
export { Fold, type FoldOptions, type View } from "./transcript/fold.ts";
export { mend } from "./transcript/mend.ts";
export type { Repair } from "./transcript/repair.ts";
export { type Violation, violations } from "./transcript/wire.ts";
