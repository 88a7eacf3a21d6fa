import { unlessAborted } from "palimpsest/internal/schema/unless-aborted";
import { nobody, type Person } from "palimpsest/internal/ports/person";
import type { LeaveDep, PermissionDep } from "palimpsest/internal/ports/tools";
import type { ToolUseId } from "palimpsest/internal/schema/brand";
import { isOfDomain } from "../../permission/domain-rule.ts";
import type { Rules } from "../../permission/rule.ts";
import { isAddress, isLocalName } from "./addresses.ts";
import { askedCommandCharsMax, hostQuestionsMax, hostsDeniedMax } from "./limits.ts";

/** Decides which hosts the programs of one command reach. */
export interface HostAccess {
  /** Asked about each connection, before its name is looked up. Must not reject; an abort refuses. */
  decide(target: HostTarget, signal: AbortSignal): Promise<HostAnswer>;
  /** Whether an allow rule names this very host or address. */
  isNamed(host: string): boolean;
}

export interface HostTarget {
  /** In its one spelling; IPv6 in brackets. */
  readonly host: string;
  readonly port: number;
}

export type HostAnswer =
  | { readonly kind: "open" }
  /** `why`: one line, which the program is answered and the model is told. */
  | { readonly kind: "refused"; readonly why: string };

export interface SessionHostsDeps extends Pick<LeaveDep, "allowAlways" | "projectLeave">, PermissionDep {
  /** By the rules in force now: whether an allow rule names this very host. */
  readonly isNamed: (host: string) => boolean;
  readonly person: Person;
}

export interface NetworkCommand {
  readonly toolUse: ToolUseId;
  readonly command: string;
  /** What begins the question's sentence; "The command" where it is absent. */
  readonly calledAs?: string;
  /** Of the call, or of the job: who is asked then need not answer any more. */
  readonly signal: AbortSignal;
}

/** What the user said of hosts in one session, beyond rules. Permissions are asked for one after the other. */
export class SessionHosts {
  readonly #deps: SessionHostsDeps;
  readonly #denied = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(deps: SessionHostsDeps) {
    this.#deps = deps;
  }

  /** For a fork, which works alone: what no rule opens is refused. */
  withoutUser(): SessionHosts {
    return new SessionHosts({ ...this.#deps, person: nobody });
  }

  /** "Once" is for one command, and so is the number of questions. */
  forCommand(command: NetworkCommand): HostAccess {
    const pending = new Map<string, Promise<HostAnswer>>();
    let questions = 0;
    return {
      isNamed: this.#deps.isNamed,
      decide: async (target, signal) => {
        const ruled = await this.#ruled(target);
        if (ruled.kind !== "ask") return ruled;
        const key = keyOf(target);
        const known = pending.get(key);
        if (known !== undefined) return known;
        if (questions >= hostQuestionsMax)
          return refused(`this command has asked for ${hostQuestionsMax} hosts already`);
        questions += 1;
        const ended = AbortSignal.any([signal, command.signal]);
        const answer = this.#inTurn(() => this.#ask(target, { ...command, signal: ended }));
        pending.set(key, answer);
        return answer;
      },
    };
  }

  async #ruled({ host, port }: HostTarget): Promise<HostAnswer | Asked> {
    if ((isAddress(host) || isLocalName(host)) && !this.#deps.isNamed(host))
      return refused(`only an allow rule that names it opens it: WebFetch(domain:${host})`);
    const acts = [{ kind: "fetch", url: urlOf({ host, port }), host }] as const;
    const verdict = await this.#deps.permit({ tool: "bash", input: {}, acts });
    switch (verdict.kind) {
      case "allowed":
        return { kind: "open" };
      case "denied":
        return refused(verdict.reason);
      case "ask":
        return this.#denied.has(keyOf({ host, port })) ? refused(saidNo) : { ...verdict, acts };
    }
  }

  /** Ruled once more when it is this question's turn: an answer to another may have settled it. */
  async #ask(
    target: HostTarget,
    { toolUse, command, calledAs = "The command", signal }: NetworkCommand,
  ): Promise<HostAnswer> {
    const ruled = await this.#ruled(target);
    if (ruled.kind !== "ask") return ruled;
    const { acts, suggestedRules } = ruled;
    const { person, projectLeave, allowAlways } = this.#deps;
    const place = suggestedRules === undefined ? undefined : await projectLeave?.();
    if (signal.aborted) return refused("the command was interrupted");
    const reason = `${calledAs} wants to connect to ${target.host} at port ${target.port}, and no rule says whether it may.`;
    const answer = await unlessAborted(
      person.permission(
        {
          toolUse,
          tool: "bash",
          input: { command: shortened(command) },
          acts,
          reason,
          ...(suggestedRules === undefined ? {} : { suggestedRules }),
          ...(place === undefined ? {} : { projectLeave: place }),
        },
        signal,
      ),
      { signal, instead: () => undefined },
    );
    switch (answer?.kind) {
      case undefined:
      case "interrupted":
        return refused("the command was interrupted");
      case "once":
        return { kind: "open" };
      case "always":
        await allowAlways({ rules: answer.rules, scope: answer.scope });
        return { kind: "open" };
      case "denied":
        this.#remember(keyOf(target));
        return refused(answer.words === undefined ? saidNo : `${saidNo}: ${answer.words}`);
      case "nobody":
        return refused("no rule allows it, and there is nobody to ask");
    }
  }

  #inTurn(ask: () => Promise<HostAnswer>): Promise<HostAnswer> {
    const answer = this.#last.then(ask);
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  #remember(key: string): void {
    this.#denied.add(key);
    const [oldest] = this.#denied;
    if (this.#denied.size > hostsDeniedMax && oldest !== undefined) this.#denied.delete(oldest);
  }
}

/** Whether an allow rule names this very host: neither a pattern nor a rule for every host does. */
export const namesHost = (rules: Rules, host: string): boolean =>
  rules.allow.some(
    (rule) =>
      rule.kind === "fetch" &&
      rule.domain?.reach === "itself" &&
      isOfDomain(host, { domain: rule.domain, use: "allow" }),
  );

interface Asked {
  readonly kind: "ask";
  readonly acts: readonly [{ readonly kind: "fetch"; readonly url: string; readonly host: string }];
  readonly suggestedRules?: readonly string[];
}

const refused = (why: string): HostAnswer => ({ kind: "refused", why });
const saidNo = "the user said no";

const shortened = (command: string): string =>
  command.length > askedCommandCharsMax ? `${command.slice(0, askedCommandCharsMax)}…` : command;

/** What is said of a host is said of its web pages; another port is another service. */
const keyOf = ({ host, port }: HostTarget): string => (webPorts.has(port) ? host : `${host}:${port}`);
const webPorts: ReadonlySet<number> = new Set([80, 443]);

const urlOf = ({ host, port }: HostTarget): string =>
  port === 80 ? `http://${host}/` : port === 443 ? `https://${host}/` : `http://${host}:${port}/`;
