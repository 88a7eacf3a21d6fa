export interface ModelName {
  readonly line: string;
  readonly version: number;
}

/** `claude-opus-4-8-20260101` is line opus, version 4.08. Of a name without a version the newest rules count. */
export function modelName(id: string): ModelName {
  const found = /(haiku|sonnet|opus|fable|mythos)-(\d{1,2})(?:-(\d{1,2})(?!\d))?/.exec(id);
  if (found !== null) return { line: found[1] ?? "", version: Number(found[2]) + Number(found[3] ?? 0) / 100 };
  const old = /claude-(\d)-(\d)-(haiku|sonnet|opus)/.exec(id);
  return old === null
    ? { line: "", version: 99 }
    : { line: old[3] ?? "", version: Number(old[1]) + Number(old[2]) / 100 };
}
