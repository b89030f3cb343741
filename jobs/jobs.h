#ifndef WEIR_JOBS_JOBS_H
#define WEIR_JOBS_JOBS_H

/* The jobs that come with weir, by name. Each is the example of one idea. */

#include <weir/job.h>

struct weir_builtin_job {
	const char *name;
	weir_job_fn build;
	const char *help; /* one line */
};

extern const struct weir_builtin_job weir_builtin_jobs[];
extern const uint32_t weir_builtin_job_cnt;

/* NULL: there is none of that name. */
const struct weir_builtin_job *weir_builtin_job_find(const char *name);

#endif /* WEIR_JOBS_JOBS_H */
