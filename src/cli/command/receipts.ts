import { openCounted } from "../../loop/counted.ts";
import { pastReceipts } from "../../loop/past-receipts.ts";
import { boundaryFacts } from "../boundary-facts.ts";
import { command } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { openNamedLog, wrongFile } from "../named-log.ts";
import { type ListedEdit, recordedEditText } from "../receipt-text.ts";
import { sessionOperand } from "../session-operand.ts";

export const receiptsCommand = command({
  name: "receipts",
  summary: "show what every edit of a session did, why, and what it cost",
  operands: { session: sessionOperand },
  json: "path and edits: id, kind, at, state, cause, because, count, tokens before and after, those of the whole context for a boundary, price, how to undo",
  run: async (context, { operands, format }) => {
    const log = await openNamedLog(context, operands.session);
    if (log.kind === "failure") return log;
    try {
      const opened = await openCounted(log, { ...log, tailBytes: Math.min(log.source.size, wholeReadBytesMax) });
      const wrong = wrongFile(log, opened);
      if (wrong !== undefined) return wrong;
      const edits = await pastReceipts(opened.fold, log.source);
      const facts = boundaryFacts(opened.fold.path.entries);
      const listed = edits.map((edit): ListedEdit => ({ ...edit, boundary: facts.get(edit.id) }));
      const session = log.session?.id ?? operands.session;
      if (format === "json") {
        await context.out.json({ path: log.path, edits: listed.map((edit) => asJson(edit, session)) });
        return exitCode.fine;
      }
      const { style, columns = columnsDefault } = context.out;
      const texts = listed.map((edit) => recordedEditText(edit, { style, columns, session }));
      await context.out.write(texts.length === 0 ? "No edits.\n" : texts.join(""));
      return exitCode.fine;
    } finally {
      await log.source.close();
    }
  },
});

/** Up to this size the whole log is read, so that every edit is listed; beyond it only what the view needs. */
const wholeReadBytesMax = 256 * 2 ** 20;

const columnsDefault = 80;

const asJson = (
  { receipt, undoes, cause, because, count, boundary, ...edit }: ListedEdit,
  session: string,
): object => ({
  ...edit,
  cause: cause ?? boundary?.trigger ?? null,
  because: because ?? null,
  count: count ?? null,
  tokensBefore: receipt?.tokensBefore ?? null,
  tokensAfter: receipt?.tokensAfter ?? null,
  contextTokensBefore: boundary?.tokensBefore ?? null,
  contextTokensAfter: boundary?.tokensAfter ?? null,
  price: receipt?.price ?? null,
  entries: receipt?.entries ?? null,
  undo: undoes ? `palimpsest undo ${session} ${edit.id}` : null,
});
