/** The bench under the name of its folder. */
import "../../scripts/bench.ts";
