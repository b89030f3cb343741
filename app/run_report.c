/* The end of a run: its report and the final table. */
#include "app/supervisor_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Can the report be written? Found out before the run, not after hours of it. */
int
weir_run_try_report(const char *path, struct weir_error *err)
{
	int fd;

	if (path == NULL)
		return 0;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return weir_fail(err, WEIR_ERR_IO, "--report %s: %s", path, strerror(errno));
	close(fd);
	return 0;
}

static void
write_report(struct weir_supervisor *s, json_t *report, const char *path)
{
	FILE *file = fopen(path, "we");

	if (file == NULL || json_dumpf(report, file, JSON_INDENT(2)) != 0 ||
	    fputc('\n', file) == EOF)
		weir_display_line(&s->display, "the report could not be written to %s: %s", path,
				  strerror(errno));
	if (file != NULL && fclose(file) != 0)
		weir_display_line(&s->display, "the report could not be written to %s: %s", path,
				  strerror(errno));
}

void
weir_run_finish(struct weir_supervisor *s, int code, const char *state, const char *report_path)
{
	const struct weir_config *cfg = &s->session->cfg;
	const struct weir_report_end end = {
		.job = s->session->job_arg,
		.name = cfg->job_name,
		.state = state,
		.exit_code = code,
		.now_ns = weir_supervisor_now_ns(),
		.cfg = cfg,
	};
	json_t *report = weir_report_json(&s->report, &end);

	weir_display_table(&s->display, report, s->has_dir ? s->dir.path.text : NULL);
	if (report_path != NULL)
		write_report(s, report, report_path);
	json_decref(report);
}
