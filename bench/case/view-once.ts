import { parse, view } from "./view.ts";

const [mode, file = ""] = process.argv.slice(2);
const start = performance.now();
if (mode === "parse") parse(file);
else await view(file);
console.log(performance.now() - start);
