import { createHash, randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Store } from "palimpsest/internal/ports/store";
import { millis } from "palimpsest/internal/schema/brand";
import { errorCode } from "palimpsest/internal/store/files/disk";
import { locateProject } from "palimpsest/internal/store/files/project";
import { filePorts, homeMailFolder } from "palimpsest/internal/store/files/store";
import { ConversationLog } from "./conversation/conversation-log.ts";
import { Conversations } from "./conversation/conversations.ts";
import type { ReductionOptions } from "./conversation/conversation-context.ts";
import {
  conversationsPath,
  historyLogPath,
  listHistoryUsers,
  renameHistoryLogs,
  toolUsagePath,
} from "./conversation/gateway-files.ts";
import { HistoryLog } from "./conversation/history/history-log.ts";
import type { ConversationOwner } from "./conversation/request/request-reader.ts";
import { ToolUsageLog } from "./conversation/tools/tool-usage-log.ts";
import { contextExchange } from "./exchange/context-exchange.ts";
import { type GatewayOutcome, serveGateway, type ServeGatewayOptions } from "./http/serve-gateway.ts";
import type { ContextConfig } from "./operate/gateway-config.ts";
import { localUser } from "./operate/users.ts";

export interface OpenGatewayOptions extends Omit<ServeGatewayOptions, "createExchange" | "state"> {
  /** The home of `palimpsest`: sessions are stored where its commands look for them. */
  readonly home: string;
  /** Conversations of a base URL that names no project belong to the project of this folder. */
  readonly cwd: string;
}

/** Serves a gateway whose conversations are sessions in the home of `palimpsest`. */
export async function openGateway({ home, cwd, ...options }: OpenGatewayOptions): Promise<GatewayOutcome> {
  const { now = Date.now } = options;
  let context: () => ContextConfig = () => options.config.context;
  const logs = await openLogs(home);
  if (logs.kind === "failed") return logs;
  const conversations = new Conversations({
    ...logs,
    openStore: (owner) => openProjectStore({ home, cwd, owner }),
    reduction: () => readReduction(context()),
    now,
  });
  const gateway = await serveGateway({
    ...options,
    state: conversations,
    createExchange: ({ config, ...deps }) => {
      context = () => config().context;
      return contextExchange({
        ...deps,
        conversations,
        historyLog: new HistoryLog((user) => historyLogPath(home, user), {
          listUsers: () => listHistoryUsers(home),
          // Histories are stored as the client sent them, also with what must not be stored.
          isWritten: () => context().secrets !== "redact",
        }),
        options: () => ({
          summarizer: context().summarizer ?? "none",
          usage: context().usage ?? "used",
          threads: context().threads ?? "keep",
          prices: config().prices,
        }),
      });
    },
  });
  if (gateway.kind === "failed") {
    await conversations.close();
    return gateway;
  }
  return {
    ...gateway,
    close: async (closing) => {
      await gateway.close(closing);
      await conversations.close();
    },
  };
}

/** Without them the gateway would know no conversation again, and write over what it can't read. */
async function openLogs(home: string) {
  const folder = join(home, "gateway");
  try {
    await renameHistoryLogs(home);
    const log = await ConversationLog.open(conversationsPath(home));
    return { kind: "open", log, toolUsageLog: await ToolUsageLog.open(toolUsagePath(home)) } as const;
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return { kind: "failed", code, message: `${folder} can't be read and written (${code})` } as const;
  }
}

function readReduction({ contextTokens, policy, saving, secrets, ...config }: ContextConfig): ReductionOptions {
  const { recall = "on", memory = "off", deferTools = "off", cacheMarks = "added" } = config;
  return {
    recall,
    memory,
    deferTools,
    cacheMarks,
    contextTokens: (model) => (typeof contextTokens === "object" ? contextTokens[model] : contextTokens),
    ...(policy === undefined ? {} : { policy }),
    ...(saving === undefined ? {} : { saving }),
    ...(secrets === undefined ? {} : { secrets }),
  };
}

type StoreInput = Pick<OpenGatewayOptions, "home" | "cwd"> & { readonly owner: ConversationOwner };

/** The user of this machine has the sessions of each project where all commands find them; other users have folders of their own. */
function openProjectStore({ home, cwd, owner: { user, project } }: StoreInput): Store {
  const deps = { now: () => millis(Date.now()), uuid: randomUUID };
  return {
    open: async () => {
      const located =
        user === localUser
          ? await locateProject(deps, { home, cwd: project ?? cwd })
          : ({ kind: "located", folder: userFolder({ home, user, project }) } as const);
      if (located.kind === "failed") return located;
      const mailFolder = user === localUser ? homeMailFolder(home) : undefined;
      // The client has the whole conversation and sends it again: a crash of the machine loses nothing that can't be had.
      return { kind: "open", ...filePorts({ deps, folder: located.folder, durability: "turn", mailFolder }) };
    },
  };
}

/** A project's name comes from the user's base URL, so that it is no part of a path as it is. */
const userFolder = ({ home, user, project = "" }: { readonly home: string } & ConversationOwner): string =>
  join(home, "gateway", "users", user, createHash("sha256").update(project).digest("hex").slice(0, projectChars));

/** Hexadecimal digits: 64 bits, so that no two projects of a user share a folder by accident. */
const projectChars = 16;
