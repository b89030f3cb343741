/* Lists of CPUs as the kernel writes them: 2-5,8. */

#include "engine/config/value_priv.h"

#include <string.h>

/* One CPU number of a list at text + at. */
static bool
parse_cpu(const char *text, size_t at, size_t *used, uint64_t *cpu, struct weir_value_error *e)
{
	const char *p = text + at;

	*used = weir_value_digits(p);
	if (*used == 0)
		return weir_value_fail(
			e, at, 1, "takes a list of CPUs such as 2-5,8: a CPU number is missing");
	if (!weir_value_parse_digits(p, cpu, used, e)) {
		e->at += (uint32_t)at;
		return false;
	}
	if (*cpu >= WEIR_CONFIG_CPU_MAX)
		return weir_value_fail(e, at, *used, "CPU %.*s is out of range: 0 to %u",
				       (int)*used, p, WEIR_CONFIG_CPU_MAX - 1);
	return true;
}

/* One item, "5" or "2-5". */
static bool
parse_cpu_item(const char *text, size_t at, size_t *used, struct weir_value *out,
	       struct weir_value_error *e)
{
	uint64_t first, last;
	size_t n, m;

	if (!parse_cpu(text, at, &n, &first, e))
		return false;
	last = first;
	if (text[at + n] == '-') {
		if (!parse_cpu(text, at + n + 1, &m, &last, e))
			return false;
		n += m + 1;
	}
	*used = n;
	if (last < first) {
		weir_value_fail(e, at, n, "%.*s: the range runs backwards", (int)n, text + at);
		weir_value_hint(e, "write %u-%u", (unsigned int)last, (unsigned int)first);
		return false;
	}
	if (out->cpus.cnt + (last - first) >= WEIR_CONFIG_CPU_MAX)
		return weir_value_fail(e, at, n, "more than %u CPUs", WEIR_CONFIG_CPU_MAX);
	for (uint64_t cpu = first; cpu <= last; cpu++)
		out->cpu[out->cpus.cnt++] = (uint16_t)cpu;
	return true;
}

bool
weir_value_parse_cpus(const char *text, struct weir_value *out, struct weir_value_error *e)
{
	size_t at = 0, n;

	out->cpus.cnt = 0;
	out->cpus.cpu = out->cpu;
	out->cpus.text = text;
	for (;;) {
		if (!parse_cpu_item(text, at, &n, out, e))
			return false;
		at += n;
		if (text[at] == '\0')
			return true;
		if (text[at] != ',') {
			weir_value_fail(e, at, strlen(text + at),
					"takes a list of CPUs such as 2-5,8, not \"%s\"", text);
			return false;
		}
		at++;
	}
}

void
weir_value_cpu_item(const char *text, uint32_t cpu, uint32_t *at, uint32_t *len)
{
	struct weir_value_error e;
	uint64_t first, last;
	size_t pos = 0, n, m;

	*at = 0;
	*len = (uint32_t)strlen(text);
	while (parse_cpu(text, pos, &n, &first, &e)) {
		last = first;
		if (text[pos + n] == '-' && parse_cpu(text, pos + n + 1, &m, &last, &e))
			n += m + 1;
		if (cpu >= first && cpu <= last) {
			*at = (uint32_t)pos;
			*len = (uint32_t)n;
			return;
		}
		pos += n;
		if (text[pos] != ',')
			return;
		pos++;
	}
}
