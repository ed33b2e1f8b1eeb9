from tests.config.conftest import file as file
from tests.config.conftest import no_default_file as no_default_file
