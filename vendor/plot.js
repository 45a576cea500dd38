// All that the report draws with.
export { areaY, dot, line, plot, ruleX } from "@observablehq/plot";
