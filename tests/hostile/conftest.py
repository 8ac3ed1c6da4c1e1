"""What the tests of hostile files share."""

import pytest

pytest.register_assert_rewrite("hostile_file")
