import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { localUser } from "../operate/users.ts";
import { ifAbsent } from "./json-lines-file.ts";

/** What the gateway keeps in the home besides sessions. */

export const conversationsPath = (home: string): string => join(home, "gateway", "conversations.jsonl");

export const toolUsagePath = (home: string): string => join(home, "gateway", "tools.jsonl");

export const historyLogPath = (home: string, user: string): string => join(userFolder(home, user), "histories.jsonl");

/** All who may have a history log. */
export const listHistoryUsers = async (home: string): Promise<readonly string[]> => [
  localUser,
  ...(await readdir(join(home, "gateway", "users")).catch(ifAbsent([]))),
];

const userFolder = (home: string, user: string): string =>
  join(home, "gateway", ...(user === localUser ? [] : ["users", user]));
