/** One of several processes on one store: `writer.ts put <path> <name> <count> [maxBytes]`, `writer.ts get <path> <handle>`. */
import { OriginalStore } from "../../../plugins/recovery/store.ts";

const [job, path = "", name = "", count = "0", maxBytes] = process.argv.slice(2);
const store = new OriginalStore({ path, ...(maxBytes ? { maxBytes: Number(maxBytes) } : {}) });
if (job === "put") {
  const handles: string[] = [];
  for (let at = 0; at < Number(count); at++) {
    // Every process writes its own originals and, in between, the ones that all of them write.
    const text = at % 3 === 0 ? `shared original ${at}` : `original ${at} of ${name}\n`.repeat(50);
    const put = store.put(text, { contentType: "text", by: name });
    handles.push("handle" in put ? put.handle : `failed: ${put.problem.message}`);
  }
  process.stdout.write(JSON.stringify(handles));
} else if (job === "fill") {
  // Puts until the store takes no more, and says what became of each.
  const handles: string[] = [];
  let problem = "";
  for (let at = 0; at < Number(count) && problem === ""; at++) {
    const put = store.put(`${name} ${at} `.repeat(2_000), { contentType: "text", by: name });
    if ("handle" in put) handles.push(put.handle);
    else problem = put.problem.code;
  }
  const intact = handles.filter((handle, at) =>
    Buffer.from(store.get(handle).bytes).equals(Buffer.from(`${name} ${at} `.repeat(2_000))),
  );
  process.stdout.write(JSON.stringify({ stored: handles.length, intact: intact.length, problem }));
} else process.stdout.write(store.get(name).bytes);
store.close();
