import type { CountedLog } from "../session/counted-log.ts";
import type { ResolvedSettings } from "../settings/resolved-settings.ts";
import { type ContextReport, contextReport } from "../tokens/context-report.ts";
import type { View } from "../transcript/fold.ts";

/** What the model sees of a log. The log is only read, so it may be another tool's, damaged, or open elsewhere. */
export class LogView {
  readonly #log: LogViewSource;

  constructor(log: LogViewSource) {
    this.#log = log;
  }

  /** The messages of the next request, and why they can't be sent if they can't. */
  messages(): View {
    return this.#log.fold.view(this.#log.viewOptions);
  }

  /** What fills the window. */
  report({ thresholds, autoCompact }: Pick<ResolvedSettings, "thresholds" | "autoCompact">): ContextReport {
    const { fold, ledger } = this.#log;
    return contextReport({ fold, ledger, thresholds, autoCompact });
  }
}

type LogViewSource = Pick<CountedLog, "fold" | "ledger"> & Partial<Pick<CountedLog, "viewOptions">>;
