import { randomUUID } from "node:crypto";
import { millis } from "palimpsest/internal/schema/brand";
import { openSocketServer } from "palimpsest/internal/store/files/socket-mailbox";

/** Listens until it is killed: `node socket-listener.ts <folder> <name>`. Prints a line when it listens. */
const [, , folder = "", name = ""] = process.argv;
const deps = { now: () => millis(Date.now()), uuid: randomUUID };
const deliver = async () => ({ kind: "sent", delivered: [] }) as const;
const opened = await openSocketServer({ deps, folder, name, deliver });
process.stdout.write(`${opened.kind}\n`);
