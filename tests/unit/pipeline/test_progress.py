"""What is said of a job that is under way."""

from __future__ import annotations

from causeway.pipeline.progress import JobCourse, SparkWork


def test_stage_rows_and_time_left_are_said() -> None:
    course = JobCourse("rates")
    assert course.said(SparkWork(0, 0, 0), 1.0) == ""
    course.tick("reading", 0, 2)
    assert course.said(SparkWork(4, 7, 12_000), 30.0) == "4 of 7 tasks, 12,000 rows, about 90 s left"
    assert course.stage == "reading"
    course.tick("writing", 1, 2)
    assert course.said(SparkWork(0, 0, 0), 600.0) == "about 10 min left"


def test_next_stage_of_spark_does_not_set_a_job_back() -> None:
    course = JobCourse("rates")
    course.tick("reading", 0, 2)
    course.said(SparkWork(7, 7, 0), 1.0)
    far = course.done
    course.said(SparkWork(0, 9, 0), 2.0)
    assert course.done == far < 1


def test_nothing_is_guessed_at_the_beginning() -> None:
    course = JobCourse("rates")
    course.tick("reading", 0, 2)
    assert course.said(SparkWork(0, 90, 5), 9.0) == "0 of 90 tasks, 5 rows"
