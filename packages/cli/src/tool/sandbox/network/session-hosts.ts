import { raceAbort } from "palimpsest/internal/schema/race-abort";
import { noUser, type UserPort } from "palimpsest/internal/ports/user-port";
import type { AllowRuleDep, PermissionDep } from "palimpsest/internal/ports/tool";
import type { ToolUseId } from "palimpsest/internal/schema/brand";
import { matchesDomain, type Rules } from "../../permission/rule.ts";
import { isAddress, isLocalName } from "./check-addresses.ts";
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

interface SessionHostsDeps extends Pick<AllowRuleDep, "allowAlways" | "describeProjectRule">, PermissionDep {
  /** By the rules in force now: whether an allow rule names this very host. */
  readonly isNamed: (host: string) => boolean;
  readonly person: UserPort;
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
    return new SessionHosts({ ...this.#deps, person: noUser });
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
        const key = hostKey(target);
        const known = pending.get(key);
        if (known !== undefined) return known;
        if (questions >= hostQuestionsMax)
          return refuseHost(`this command has asked for ${hostQuestionsMax} hosts already`);
        questions += 1;
        const ended = AbortSignal.any([signal, command.signal]);
        const answer = this.#inTurn(() => this.#ask(target, { ...command, signal: ended }));
        pending.set(key, answer);
        return answer;
      },
    };
  }

  async #ruled({ host, port }: HostTarget): Promise<HostAnswer | HostQuestion> {
    if ((isAddress(host) || isLocalName(host)) && !this.#deps.isNamed(host))
      return refuseHost(`only an allow rule that names it opens it: WebFetch(domain:${host})`);
    const acts = [{ kind: "fetch", url: hostUrl({ host, port }), host }] as const;
    const verdict = await this.#deps.permit({ tool: "bash", input: {}, acts });
    switch (verdict.kind) {
      case "allowed":
        return { kind: "open" };
      case "denied":
        return refuseHost(verdict.reason);
      case "ask":
        return this.#denied.has(hostKey({ host, port })) ? refuseHost(userRefusal) : { ...verdict, acts };
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
    const { person, describeProjectRule: projectLeave, allowAlways } = this.#deps;
    const place = suggestedRules === undefined ? undefined : await projectLeave?.();
    if (signal.aborted) return refuseHost("the command was interrupted");
    const reason = `${calledAs} wants to connect to ${target.host} at port ${target.port}, and no rule says whether it may.`;
    const answer = await raceAbort(
      person.permission(
        {
          toolUse,
          tool: "bash",
          input: { command: shortenCommand(command) },
          acts,
          reason,
          ...(suggestedRules === undefined ? {} : { suggestedRules }),
          ...(place === undefined ? {} : { projectRuleNote: place }),
        },
        signal,
      ),
      { signal, instead: () => undefined },
    );
    switch (answer?.kind) {
      case undefined:
      case "interrupted":
        return refuseHost("the command was interrupted");
      case "once":
        return { kind: "open" };
      case "always":
        await allowAlways({ rules: answer.rules, scope: answer.scope });
        return { kind: "open" };
      case "denied":
        this.#remember(hostKey(target));
        return refuseHost(answer.words === undefined ? userRefusal : `${userRefusal}: ${answer.words}`);
      case "nobody":
        return refuseHost("no rule allows it, and there is nobody to ask");
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
export const isHostNamed = (rules: Rules, host: string): boolean =>
  rules.allow.some(
    (rule) =>
      rule.kind === "fetch" &&
      rule.domain?.reach === "itself" &&
      matchesDomain(host, { domain: rule.domain, use: "allow" }),
  );

interface HostQuestion {
  readonly kind: "ask";
  readonly acts: readonly [{ readonly kind: "fetch"; readonly url: string; readonly host: string }];
  readonly suggestedRules?: readonly string[];
}

const refuseHost = (why: string): HostAnswer => ({ kind: "refused", why });
const userRefusal = "the user said no";

const shortenCommand = (command: string): string =>
  command.length > askedCommandCharsMax ? `${command.slice(0, askedCommandCharsMax)}…` : command;

/** What is said of a host is said of its web pages; another port is another service. */
const hostKey = ({ host, port }: HostTarget): string => (webPorts.has(port) ? host : `${host}:${port}`);
const webPorts: ReadonlySet<number> = new Set([80, 443]);

const hostUrl = ({ host, port }: HostTarget): string =>
  port === 80 ? `http://${host}/` : port === 443 ? `https://${host}/` : `http://${host}:${port}/`;
