/** Answers every message of `ping`, until it is killed: `node mailbox-once.ts files|redis <folder or socket>`. */
import { openFilePost, openRedisPost } from "../mail-post.ts";

const [, , kind = "", place = ""] = process.argv;
const post =
  kind === "files"
    ? await openFilePost({ folder: place, name: "pong", durability: "never" })
    : await openRedisPost({ path: place, name: "pong" });
process.stdout.write("ready\n");
for (;;) await post.receive((text) => post.send("ping", text));
